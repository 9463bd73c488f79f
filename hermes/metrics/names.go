package metrics

import "github.com/prometheus/client_golang/prometheus"

// described are all there are.
var described []*prometheus.Desc

func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("hermes_"+name, help, labels, nil)
	described = append(described, d)
	return d
}

// The metrics. Rates are Prometheus's to make, of counters.
var (
	up         = describe("up", "1 if the node could say how it is doing.")
	live       = describe("live", "1 if nothing of the node is stuck, as /livez tells.")
	ready      = describe("ready", "1 if the node is worth sending callers, as /readyz tells.")
	messagesIn = describe("topic_messages_in_total", "Messages that were acknowledged to callers of this node.",
		"topic")
	bytesIn     = describe("topic_bytes_in_total", "Their bytes, in wire form.", "topic")
	messagesOut = describe("topic_messages_out_total", "Messages that were handed to subscribers at this node, again "+
		"ones too.", "topic")
	bytesOut      = describe("topic_bytes_out_total", "Their bytes, in wire form.", "topic")
	topicBytes    = describe("topic_kept_bytes", "Bytes of the messages that a topic keeps.", "topic")
	topicMessages = describe("topic_stored_messages_total",
		"Messages that were ever stored in a topic: its next offset.",
		"topic")
	subscribers = describe("topic_subscribers", "Subscribers of a topic at this node.", "topic")
	lag         = describe("group_lag_messages", "Messages that a group has not dealt with. Told by the leader.",
		"topic", "group")
	redelivered = describe("group_redelivered_messages_total", "Messages that came again, since this node leads.",
		"topic", "group")
	trimmed = describe("group_trimmed_total", "Messages that retention took before the group had dealt with them.",
		"topic", "group")
	dead     = describe("group_dead_messages_total", "Messages that became dead letters.", "topic", "group")
	members  = describe("group_members", "Members of a group.", "topic", "group")
	inFlight = describe("group_in_flight_messages", "Messages in flight with members.", "topic", "group")
	refused  = describe("refused_messages_total", "Messages whose publish failed, by the code of the failure.",
		"code")
	syncSeconds   = describe("log_sync_seconds", "How long syncs of the log took.")
	commitSeconds = describe("commit_seconds", "How long runs and commands took to be committed, on the leader.")
	term          = describe("raft_term", "Raft's term.")
	committed     = describe("raft_committed_index", "The last entry known to be committed.")
	applied       = describe("raft_applied_index", "The last entry applied.")
	isLeader      = describe("raft_is_leader", "1 if this node leads.")
	hasLeader     = describe("raft_has_leader", "1 if this node knows who leads.")
	elections     = describe("raft_elections_total", "Changes of leader or term that this node saw, since it started.")
	segments      = describe("log_segments", "Segments of the log.")
	logBytes      = describe("log_bytes", "Bytes allocated for the log.")
	logFiles      = describe("log_open_files", "Files of the log that are open.")
	logFilesLimit = describe("log_open_files_limit",
		"Files of the log that may be open to be read; a few more are open "+
			"to be written.")
	freeBytes = describe("disk_free_bytes", "Free space of the disk.")
	starved   = describe("disk_starved", "1 if the disk is so full, or so many files are open, that this node "+
		"stores and acknowledges nothing.")
	scrubBytes = describe("scrub_bytes_total",
		"Bytes of the log that were read in search of damage, since the start.")
	scrubDamage = describe("scrub_damage_total",
		"Damages of the log that were found, by readers too, since the start.")
	scrubRepaired = describe("scrub_repaired_total", "Damages of the log that were repaired, since the start.")
	scrubOpen     = describe("scrub_damage_open", "1 if there is damage of the log that is not repaired yet.")
	full          = describe("disk_full", "1 if the disk has less free space than it must have. A leader hands over "+
		"then, or refuses publishes.")
	apart = describe("histories_apart", "1 if this node and another have committed different entries: two "+
		"histories were acknowledged.")
	copied = describe("directory_copied", "1 if the node's directory is a copy, and the node keeps from voting "+
		"until it has caught up.")
	clockOff = describe("clock_off", "1 if this machine's clock is off the others' so far that the node does "+
		"not lead.")
	clockAhead = describe("clock_ahead_seconds", "How far this machine's clock is ahead of the median of a majority.")
	inHand     = describe("in_hand_bytes", "Bytes of publishes that wait for an answer.")
	backlog    = describe("disk_backlog_bytes", "Bytes handed to the disk and not stored.")
	topicCount = describe("topics", "Topics there are.")

	requestBytes    = describe("request_bytes", "Bytes of requests under way, of all APIs.")
	requestsRefused = describe("requests_refused_total", "Requests that found no room, or that stalled while others "+
		"waited for it.", "reason")
	connections        = describe("connections", "Connections that are open, by listener.", "listener")
	connectionsRefused = describe("connections_refused_total", "Connections that were closed: the listener was full, "+
		"their address had too many, or they were silent.", "listener", "reason")
)
