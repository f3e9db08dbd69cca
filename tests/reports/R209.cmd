# --gpu rtx-5090 --engine sglang@0.5.1
python3 -m sglang.launch_server --model-path openai/gpt-oss-20b --attention-backend trtllm_mha
