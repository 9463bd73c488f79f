package main

import (
	"wirelab/cmd/internal/desk"
)

// app has what the constructors of commands need.
type app struct{ *desk.Desk }
