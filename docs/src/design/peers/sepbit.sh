# Runs SepBIT's simulator on writes.csv, in ./state: WA behind the first 3,700,000 writes. The device is that of MiDAS's
# simulator with 2 GB. CLASSES is the class path: its own classes, trove4j, commons-lang3, commons-math3 and kerby-config.
mkdir -p state/segments state/indexmap state/ondiskfifo
ln -sf "$PWD/writes.csv" state/0.csv
echo state/0.csv > state/list
echo "0 488281 1999998976" > state/property
java -cp "$CLASSES" gcsimulator.Simulator --path state/list --propertyPath state/property --outputPrefix state/ \
    --selectionAlgorithm CostBenefit --setSeparateMethod SepBIT --setNumOpenSegments 6 --setSegmentSize 2097152 \
    --setSystemGarbageProportionThreshold 0.06868 --indexMapType PureInMem --indexMapCache Null \
    --printSegmentInSummary 0 |
    awk '/rmed_seg/ { copied += $7 } / 3700000 requests/ { copied = 0 }
         / LBAs  / { print 1 + copied / ($3 - 3700000) }'
