"""Reinforcement learning in four small files: who acts, who judges, who learns."""
