package postgres

import (
	"fmt"
	"strings"
)

// Setting is a setting of a server, as in postgresql.conf.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// settings are what a server of ours runs with, so that no result depends on
// what a package or a version takes for a default. A commit is on the disk
// when it is acknowledged: a store that may lose it answers another question.
func settings(port int, socket string) []Setting {
	return []Setting{
		{"listen_addresses", "127.0.0.1"},
		{"port", fmt.Sprint(port)},
		{"unix_socket_directories", socket},
		{"max_connections", "400"},
		{"shared_buffers", "256MB"}, // the usual data set is a tenth of it: reads come from memory
		{"huge_pages", "off"},       // whether a host has any decides nothing
		{"work_mem", "4MB"},
		{"maintenance_work_mem", "128MB"},
		{"fsync", "on"},
		{"synchronous_commit", "on"},
		{"full_page_writes", "on"},
		{"wal_level", "replica"},
		{"wal_buffers", "16MB"},
		// Far apart, so that a slice of some seconds seldom holds one and no
		// arm is the one that pays for it; each is in the server's log.
		{"checkpoint_timeout", "15min"},
		{"max_wal_size", "2GB"},
		{"checkpoint_completion_target", "0.9"},
		{"log_checkpoints", "on"},
		{"autovacuum", "on"}, // as on every server that is used
		{"jit", "off"},       // compiles for seconds a statement that runs once
		{"track_io_timing", "on"},
		{"timezone", "UTC"},
		{"log_timezone", "UTC"},
		// Errors of statements go to those who sent them; the log holds what happens to the server, and so stays
		// small.
		{"log_min_messages", "log"},
		{"log_min_error_statement", "panic"},
		{"log_connections", "off"},
		{"log_disconnections", "off"},
		{"logging_collector", "off"},
	}
}

// merge returns the settings with others in place of those of the same name.
func merge(all, others []Setting) []Setting {
	for _, other := range others {
		known := false
		for i := range all {
			if all[i].Name == other.Name {
				all[i], known = other, true
			}
		}
		if !known {
			all = append(all, other)
		}
	}
	return all
}

// configuration writes settings as postgresql.conf has them.
func configuration(all []Setting) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s = '%s'\n", s.Name, strings.ReplaceAll(s.Value, "'", "''"))
	}
	return b.String()
}
