// Package cli has what the project's programs share at a terminal: commands that list the words they know, errors
// that become one line and an exit code, and answers as text, tables or JSON. It must not know a command.
package cli
