// Package cli is what the project's programs have in common at a terminal: commands that list the
// words they know, errors that become one line and an exit code, answers as text, tables or JSON.
// It knows no command.
package cli
