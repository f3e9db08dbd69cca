# --gpu h100 --engine sglang@0.4.4.post1
python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --enable_metrics
