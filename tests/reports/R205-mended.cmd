# --gpu h100 --engine sglang@0.5.2
python -m sglang.launch_server --model-path Qwen/Qwen3-32B --pp-size 2
