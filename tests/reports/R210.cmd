# --gpu a100 --engine sglang@0.4.5
python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --attention-backend fa3
