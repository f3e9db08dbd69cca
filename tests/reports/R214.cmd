# --gpu rtx-3090 --engine sglang@0.5.18
python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --speculative-algorithm NGRAM --attention-backend torch_native
