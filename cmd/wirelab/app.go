package main

import (
	"wirelab/cmd/internal/desk"
)

// app is what commands are made with.
type app struct{ *desk.Desk }
