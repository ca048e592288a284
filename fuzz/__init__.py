"""Coverage-guided fuzzing of every parser: arbitrary bytes must end in rows or rejects.

``python -m fuzz`` lists the targets; the README beside this file says how to run and extend them.
"""
