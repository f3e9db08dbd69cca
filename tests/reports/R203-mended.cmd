# --gpu h200 --engine sglang@0.5.5
python -m sglang.launch_server --model-path /moonshotai/Kimi-K2-Thinking --tp 8 --disable-radix-cache  --trust-remote-code  --tool-call-parser kimi_k2 --reasoning-parser kimi_k2  --context-length 262144
