//go:build !unix

package cachetest

import (
	"errors"
	"os"
)

func mapFile(*os.File, int) ([]byte, func() error, error) { return nil, nil, errors.ErrUnsupported }
