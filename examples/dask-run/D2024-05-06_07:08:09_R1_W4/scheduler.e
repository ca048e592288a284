2024-05-06 07:08:09,250 - distributed.preloading - INFO - Import preload module: MofkaSchedulerPlugin.py
2024-05-06 07:08:10,150 - distributed.scheduler - INFO - State start
2024-05-06 07:08:10,160 - distributed.scheduler - INFO -   Scheduler at:   tcp://10.9.0.11:8786
2024-05-06 07:08:10,160 - distributed.scheduler - INFO -   dashboard at:  http://10.9.0.11:8787/status
2024-05-06 07:08:10,170 - distributed.preloading - INFO - Run preload setup: MofkaSchedulerPlugin.py
2024-05-06 07:08:17,249 - distributed.scheduler - INFO - Receive client connection: Client-5d0c1f3e-0b77-11ef-8a51-0242ac110002
2024-05-06 07:08:17,649 - distributed.scheduler - INFO - Receive client connection: Client-61f2a9b4-0b77-11ef-8a77-0242ac110003
2024-05-06 07:08:19,250 - distributed.scheduler - INFO - Register worker <WorkerState 'tcp://10.9.0.21:40101', status: init, memory: 0, processing: 0>
2024-05-06 07:08:19,251 - distributed.scheduler - INFO - Starting worker compute stream, tcp://10.9.0.21:40101
2024-05-06 07:08:19,251 - distributed.scheduler - INFO - Register worker <WorkerState 'tcp://10.9.0.21:40102', status: init, memory: 0, processing: 0>
2024-05-06 07:08:19,252 - distributed.scheduler - INFO - Starting worker compute stream, tcp://10.9.0.21:40102
2024-05-06 07:08:19,252 - distributed.scheduler - INFO - Register worker <WorkerState 'tcp://10.9.0.22:40201', status: init, memory: 0, processing: 0>
2024-05-06 07:08:19,253 - distributed.scheduler - INFO - Starting worker compute stream, tcp://10.9.0.22:40201
2024-05-06 07:08:19,253 - distributed.scheduler - INFO - Register worker <WorkerState 'tcp://10.9.0.22:40202', status: init, memory: 0, processing: 0>
2024-05-06 07:08:19,254 - distributed.scheduler - INFO - Starting worker compute stream, tcp://10.9.0.22:40202
2024-05-06 07:08:25,735 - distributed.scheduler - INFO - Remove client Client-5d0c1f3e-0b77-11ef-8a51-0242ac110002
2024-05-06 07:08:25,735 - distributed.scheduler - INFO - Remove client Client-61f2a9b4-0b77-11ef-8a77-0242ac110003
2024-05-06 07:08:25,745 - distributed.scheduler - INFO - Scheduler closing due to unknown reason...
2024-05-06 07:08:25,755 - distributed.scheduler - INFO - Remove worker <WorkerState 'tcp://10.9.0.21:40101', status: running, memory: 0, processing: 0> (stimulus_id='handle-worker-cleanup-1714979305.7555306')
2024-05-06 07:08:25,756 - distributed.scheduler - INFO - Remove worker <WorkerState 'tcp://10.9.0.21:40102', status: running, memory: 0, processing: 0> (stimulus_id='handle-worker-cleanup-1714979305.7565305')
2024-05-06 07:08:25,757 - distributed.scheduler - INFO - Remove worker <WorkerState 'tcp://10.9.0.22:40201', status: running, memory: 0, processing: 0> (stimulus_id='handle-worker-cleanup-1714979305.7575307')
2024-05-06 07:08:25,758 - distributed.scheduler - INFO - Remove worker <WorkerState 'tcp://10.9.0.22:40202', status: running, memory: 0, processing: 0> (stimulus_id='handle-worker-cleanup-1714979305.7585306')
2024-05-06 07:08:25,775 - distributed.scheduler - INFO - Lost all workers
2024-05-06 07:08:25,785 - distributed.scheduler - INFO - Stopped scheduler at 'tcp://10.9.0.11:8786'
2024-05-06 07:08:25,785 - distributed.scheduler - INFO - End scheduler
