//go:build !linux

package live

import "errors"

func stayOn(int) error { return errors.ErrUnsupported }

func startOn(int, func() error) error { return errors.ErrUnsupported }
