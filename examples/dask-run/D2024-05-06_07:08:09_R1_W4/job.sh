#!/bin/bash -l
#PBS -N flow-anomaly
#PBS -l select=6:system=larch
#PBS -l walltime=00:20:00
#PBS -q debug
#PBS -A fluid-demo
#PBS -l filesystems=home:scratch

set -eu
cd $PBS_O_WORKDIR
spack env activate dask-demo
spack find -fN

export DXT_ENABLE_IO_TRACE=1
sed -n 1p $PBS_NODEFILE > SchedulerNode
sed -n 2p $PBS_NODEFILE > ClientNode
sed -n 3p $PBS_NODEFILE > ConsumerNode
sed -n 4p $PBS_NODEFILE > MofkaServerNode
sed -n 5,6p $PBS_NODEFILE > WorkerNodes

mpiexec -n 1 --hostfile MofkaServerNode bedrock cxi -c config.json 1>>bedrock.o 2>>bedrock.e &
mpiexec -n 1 --hostfile SchedulerNode dask scheduler --scheduler-file=scheduler.json \
    --preload MofkaSchedulerPlugin.py 1>>scheduler.o 2>>scheduler.e &
mpiexec -n 2 --hostfile ClientNode python anomaly.py 1>>producer.o 2>>producer.e &
mpiexec -n 4 --ppn 2 --hostfile WorkerNodes dask worker --nthreads 2 \
    --scheduler-file=scheduler.json --preload MofkaWorkerPlugin.py 1>>worker.o 2>>worker.e &
mpiexec -n 1 --hostfile ConsumerNode python consumer.py 1>>consumer.o 2>>consumer.e
wait
