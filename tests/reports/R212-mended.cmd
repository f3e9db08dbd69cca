# --gpu a100 --engine sglang@0.4.3
python3.10 -m sglang.launch_server --model-path Qwen/Qwen2.5-VL-72B-Instruct-AWQ --tp 1 --dtype float16
