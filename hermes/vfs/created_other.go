//go:build !linux

package vfs

import "errors"

func created(string) (string, error) { return "", errors.ErrUnsupported }
