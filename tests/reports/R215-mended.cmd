# --gpu h100
sglang serve --model-path Qwen/Qwen3-8B --port 30010
