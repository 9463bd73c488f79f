package rabbitmq

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"wirelab/internal/daemon"
)

// Setting is a line of the server's configuration.
type Setting struct {
	Name  string
	Value string
}

// settings are what a server of ours runs with, in addition to its address and user.
func settings() []Setting {
	return []Setting{
		// It refuses messages when less is free. A temporary directory may be
		// small; the default of 50 MB is meant for one that is not shared.
		{"disk_free_limit.absolute", "16MB"},
		// It holds publishers back when it uses more of the memory. The default
		// of its version, said because it differs between versions.
		{"vm_memory_high_watermark.relative", "0.4"},
		// The log of quorum queues is written anew after this much, 512 MB by
		// default: two of those would not fit into a small directory.
		{"raft.wal_max_size_bytes", "67108864"},
		// Lines for each connection that comes and goes cost time and tell nothing.
		{"log.file.level", "warning"},
		{"log.console", "false"},
	}
}

// merge returns the settings with others in place of those of the same name,
// and the rest after them.
func merge(ours, others []Setting) []Setting {
	all := append([]Setting(nil), ours...)
next:
	for _, other := range others {
		for i := range all {
			if all[i].Name == other.Name {
				all[i].Value = other.Value
				continue next
			}
		}
		all = append(all, other)
	}
	return all
}

// configuration is the text of the server's configuration.
func configuration(all []Setting) string {
	var text strings.Builder
	for _, s := range all {
		fmt.Fprintf(&text, "%s = %s\n", s.Name, s.Value)
	}
	return text.String()
}

// variables tell the start script where everything is: in the server's own
// directory, and nothing of the system's.
func variables(d directory, n node) []string {
	return append(daemon.Environment(string(d)),
		marker+"="+string(d),
		// The script becomes the server then, instead of waiting for it.
		"RUNNING_UNDER_SYSTEMD=true",
		"RABBITMQ_NODENAME="+n.name(),
		"RABBITMQ_USE_LONGNAME="+strconv.FormatBool(n.long()),
		"RABBITMQ_CONF_ENV_FILE="+d.file("environment"), // there is none, and the system's is not read
		"RABBITMQ_CONFIG_FILE="+d.file("rabbitmq.conf"),
		"RABBITMQ_CONFIG_FILES="+d.file("rabbitmq.d"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+d.file("advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+d.file("plugins"),
		"RABBITMQ_PLUGINS_EXPAND_DIR="+d.file("expanded"),
		"RABBITMQ_FEATURE_FLAGS_FILE="+d.file("flags"),
		"RABBITMQ_MNESIA_BASE="+d.file("data"),
		"RABBITMQ_MNESIA_DIR="+d.file("data"),
		"RABBITMQ_LOG_BASE="+string(d),
		"RABBITMQ_PID_FILE="+d.file("server.pid"),
		"ERL_CRASH_DUMP_BYTES=0",
		// What the server itself starts of Erlang starts no daemon either.
		"ERL_ZFLAGS=-start_epmd false",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+n.named()+" -kernel inet_dist_use_interface {"+strings.ReplaceAll(n.host,
			".",
			",")+"}",
	)
}

// node is a server among Erlang's nodes: the address, of the loopback network or of a
// host, that other nodes would reach it at, and the port. Erlang without its daemon takes the
// port of all nodes to be the same, so members of a cluster differ in the address.
type node struct {
	host string
	port int
	all  []string // hosts of a cluster's members; none: it never meets another
	// namespace is the network namespace that it lives in; nil: ours.
	namespace *os.File
}

func (n node) long() bool { return len(n.all) > 0 }

func (n node) name() string {
	if n.long() {
		return nameOf(n.host)
	}
	return nameOf("localhost")
}

func nameOf(host string) string { return "wirelab@" + host }

func (n node) named() string {
	if n.long() {
		return "-name " + n.name()
	}
	return "-sname " + n.name()
}

// settings tell a member of a cluster who the others are. It waits for none of them: the first makes the
// cluster, the others are started after it.
func (n node) settings() []Setting {
	if !n.long() {
		return nil
	}
	all := []Setting{
		{"cluster_formation.peer_discovery_backend", "classic_config"},
		{"cluster_formation.randomized_startup_delay_range.min", "0"},
		{"cluster_formation.randomized_startup_delay_range.max", "0"},
	}
	for i, host := range n.all {
		all = append(all, Setting{fmt.Sprintf("cluster_formation.classic_config.nodes.%d", i+1), nameOf(host)})
	}
	return all
}

// alone ends, as soon as it runs, the part of the server that would look for the
// daemon once a minute and start an Erlang to bring it back.
const alone = `F=fun(_,0)->ok;(F,N)->` +
	`case(catch supervisor:terminate_child(rabbit_sup,rabbit_epmd_monitor_sup))of ok->ok;_->timer:sleep(200),F(F,N-1)end end,` +
	`spawn(fun()->F(F,600)end).`

// arguments are those of the start script.
func arguments(n node) []string {
	return []string{"-erl_epmd_port", strconv.Itoa(n.port), "-eval", alone}
}
