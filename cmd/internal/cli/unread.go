package cli

import "wirelab/internal/fault"

// Unread is what is said of a file that could not be read, by the error of package input. flag is what names the file,
// "" for an argument.
func Unread(flag, name string, err error) error { return fault.Unread(flag, name, err) }
