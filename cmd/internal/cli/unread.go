package cli

import (
	"context"
	"errors"

	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// Unread is what is said of a file that could not be read, by the error of package input. flag is what names the file,
// "" for an argument. An interruption stays what it is; what is no text, or too long, is a mistake on the command line.
func Unread(flag, name string, err error) error {
	coded := new(status.Error)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &coded):
		if flag != "" {
			name = flag + " " + name
		}
		return Usage("%s: %s", name, coded.Message)
	}
	return fault.Read(flag, name, err)
}
