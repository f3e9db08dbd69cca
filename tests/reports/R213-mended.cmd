# --gpu b200 --engine sglang@0.5.1
python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3-0324 --tp 8 --speculative-algorithm EAGLE --attention-backend trtllm_mla
