//go:build !linux

package vfs

import "errors"

func born(string) (string, error) { return "", errors.ErrUnsupported }
