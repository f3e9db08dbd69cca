# --gpu h100 --engine sglang@0.5.2
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp 16 --dp 8 --enable-dp-attention --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000 --trust-remote-code
