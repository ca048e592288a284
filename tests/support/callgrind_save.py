"""A profile as Yappi saves it in its callgrind format, written by hand."""

CALLGRIND = """version: 1
creator: yappi
pid: 77
cmd:  run.py
part: 1

events: Ticks

fl=(1) /my code/run me.py
fl=(2) /my code/run me.py
fl=(3) _socket
fn=(1) main /my code/run me.py:3
fn=(2) work hard /my code/run me.py:9
fn=(3) recv _socket:0

fl=(1)
fn=(1)
3 100
cfl=(2)
cfn=(2)
calls=4 0
0 900

fl=(2)
fn=(2)
9 600
cfl=(2)
cfn=(2)
calls=6 0
0 50
cfl=(3)
cfn=(3)
calls=1 0
0 250
"""
