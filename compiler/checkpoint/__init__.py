"""A model's own files in: its config, index, and headers; its tensors by role, and its description for the catalogue out."""

from compiler.checkpoint.config import Missing, model_from_config
from compiler.checkpoint.describing import Described, describe_checkpoint, describe_config
from compiler.checkpoint.families import FAMILIES
from compiler.checkpoint.folder import Checkpoint, has_weights, read_checkpoint
from compiler.checkpoint.placing import Placed, checkpoint_gib, place_checkpoint
from compiler.checkpoint.shards import unread_weights
from compiler.checkpoint.toml import model_toml


__all__ = [
    "FAMILIES",
    "Checkpoint",
    "Described",
    "Missing",
    "Placed",
    "checkpoint_gib",
    "describe_checkpoint",
    "describe_config",
    "has_weights",
    "model_from_config",
    "model_toml",
    "place_checkpoint",
    "read_checkpoint",
    "unread_weights",
]
