2024-05-06 07:08:16,550 - distributed.nanny - INFO -         Start Nanny at: 'tcp://10.9.0.21:41101'
2024-05-06 07:08:16,561 - distributed.nanny - INFO -         Start Nanny at: 'tcp://10.9.0.21:41102'
2024-05-06 07:08:16,572 - distributed.nanny - INFO -         Start Nanny at: 'tcp://10.9.0.22:41201'
2024-05-06 07:08:16,583 - distributed.nanny - INFO -         Start Nanny at: 'tcp://10.9.0.22:41202'
2024-05-06 07:08:17,750 - distributed.worker - INFO -       Start worker at:   tcp://10.9.0.21:40101
2024-05-06 07:08:17,750 - distributed.worker - INFO -          Listening to:   tcp://10.9.0.21:40101
2024-05-06 07:08:17,750 - distributed.worker - INFO -          dashboard at:         10.9.0.21:42101
2024-05-06 07:08:17,750 - distributed.worker - INFO - Waiting to connect to:    tcp://10.9.0.11:8786
2024-05-06 07:08:17,750 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,750 - distributed.worker - INFO -               Threads:                          2
2024-05-06 07:08:17,750 - distributed.worker - INFO -                Memory:                  62.50 GiB
2024-05-06 07:08:17,750 - distributed.worker - INFO -       Local Directory: /local/scratch/dask/worker-0000
2024-05-06 07:08:17,750 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,761 - distributed.worker - INFO -       Start worker at:   tcp://10.9.0.21:40102
2024-05-06 07:08:17,761 - distributed.worker - INFO -          Listening to:   tcp://10.9.0.21:40102
2024-05-06 07:08:17,761 - distributed.worker - INFO -          dashboard at:         10.9.0.21:42102
2024-05-06 07:08:17,761 - distributed.worker - INFO - Waiting to connect to:    tcp://10.9.0.11:8786
2024-05-06 07:08:17,761 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,761 - distributed.worker - INFO -               Threads:                          2
2024-05-06 07:08:17,761 - distributed.worker - INFO -                Memory:                  62.50 GiB
2024-05-06 07:08:17,761 - distributed.worker - INFO -       Local Directory: /local/scratch/dask/worker-0001
2024-05-06 07:08:17,761 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,772 - distributed.worker - INFO -       Start worker at:   tcp://10.9.0.22:40201
2024-05-06 07:08:17,772 - distributed.worker - INFO -          Listening to:   tcp://10.9.0.22:40201
2024-05-06 07:08:17,772 - distributed.worker - INFO -          dashboard at:         10.9.0.22:42201
2024-05-06 07:08:17,772 - distributed.worker - INFO - Waiting to connect to:    tcp://10.9.0.11:8786
2024-05-06 07:08:17,772 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,772 - distributed.worker - INFO -               Threads:                          2
2024-05-06 07:08:17,772 - distributed.worker - INFO -                Memory:                  62.50 GiB
2024-05-06 07:08:17,772 - distributed.worker - INFO -       Local Directory: /local/scratch/dask/worker-0002
2024-05-06 07:08:17,772 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,783 - distributed.worker - INFO -       Start worker at:   tcp://10.9.0.22:40202
2024-05-06 07:08:17,783 - distributed.worker - INFO -          Listening to:   tcp://10.9.0.22:40202
2024-05-06 07:08:17,783 - distributed.worker - INFO -          dashboard at:         10.9.0.22:42202
2024-05-06 07:08:17,783 - distributed.worker - INFO - Waiting to connect to:    tcp://10.9.0.11:8786
2024-05-06 07:08:17,783 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:17,783 - distributed.worker - INFO -               Threads:                          2
2024-05-06 07:08:17,783 - distributed.worker - INFO -                Memory:                  62.50 GiB
2024-05-06 07:08:17,783 - distributed.worker - INFO -       Local Directory: /local/scratch/dask/worker-0003
2024-05-06 07:08:17,783 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:19,252 - distributed.worker - INFO -         Registered to:    tcp://10.9.0.11:8786
2024-05-06 07:08:19,252 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:19,253 - distributed.worker - INFO -         Registered to:    tcp://10.9.0.11:8786
2024-05-06 07:08:19,253 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:19,254 - distributed.worker - INFO -         Registered to:    tcp://10.9.0.11:8786
2024-05-06 07:08:19,254 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:19,255 - distributed.worker - INFO -         Registered to:    tcp://10.9.0.11:8786
2024-05-06 07:08:19,255 - distributed.worker - INFO - -------------------------------------------------
2024-05-06 07:08:25,155 - distributed.worker - WARNING - Compute Failed
Key:       score-0ba77d62e2a7d01f1d85e0a4c5958952
Function:  score
args:      (3)
kwargs:    {}
Exception: "ValueError('singular matrix')"
2024-05-06 07:08:25,760 - distributed.nanny - INFO - Closing Nanny gracefully at 'tcp://10.9.0.21:41101'. Reason: scheduler-close
2024-05-06 07:08:25,761 - distributed.nanny - INFO - Closing Nanny gracefully at 'tcp://10.9.0.21:41102'. Reason: scheduler-close
2024-05-06 07:08:25,762 - distributed.nanny - INFO - Closing Nanny gracefully at 'tcp://10.9.0.22:41201'. Reason: scheduler-close
2024-05-06 07:08:25,763 - distributed.nanny - INFO - Closing Nanny gracefully at 'tcp://10.9.0.22:41202'. Reason: scheduler-close
2024-05-06 07:08:26,155 - distributed.nanny - ERROR - Worker process died unexpectedly (tcp://10.9.0.22:40202)
2024-05-06 07:08:26,255 - distributed.dask_worker - INFO - End worker
