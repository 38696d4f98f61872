package sale

import (
	"io"
	"os"
)

const processEnv = "BENCH_SALE_PROCESS"

func IsProcess() bool { return os.Getenv(processEnv) != "" }

func Process(in io.Reader, out io.Writer) error { return nil }
