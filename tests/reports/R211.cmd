# --gpu rtx-pro-6000-blackwell --engine sglang@0.5.4
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --attention-backend fa3
