REPETITIONS=1
WORKERS=4
for R in $(seq 1 $REPETITIONS); do
    WORKSPACE=/scratch/fluid-demo/D$(date +%Y-%m-%d_%T)_R${R}_W${WORKERS}
    mkdir -p $WORKSPACE && cd $WORKSPACE
    cp -r $HOME/flow-anomaly/* .
    qsub -o $WORKSPACE job.sh
done
