# --gpu h100 --engine sglang@0.4.9.post2
python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-1.5B-Instruct
