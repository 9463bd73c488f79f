// Package avro turns values of a Go type into Avro binary and back, by schemas that someone wrote down. It
// knows no workload and no transport: a binding takes [Codec]'s bytes to whatever carries them.
//
// # The message
//
// Messages are in Avro's single-object encoding: C3 01, the fingerprint of the
// writer's schema (CRC-64-AVRO of its canonical form, little-endian), and the
// value in Avro binary. So a reader knows how a message was written, resolves
// it to its own schema, and refuses what it cannot know. It costs ten bytes
// (docs/adr/0012).
//
// A [Codec] writes by one schema and reads what was written by it or by any of
// the others that it was made with. What cannot be resolved is an error when
// the codec is made, not when the first such message comes.
//
// # Types
//
// Fields of records are those of structs by name, in any case, and neither has
// one that the other lacks: domain types need no tags. The kinds are exact:
// int is int32, long int64, string and enum a string type, bytes []byte, fixed
// [N]byte, array a slice, map a map of strings, and a union is of null and one
// more, which is a pointer. A record's default for a field of record type is
// not supported.
//
// # Hostile input
//
// github.com/twmb/avro reads and writes the values. It bounds what a count may claim, but takes text that is no
// UTF-8, sizes of blocks that are wrong, and bytes after the end; and it allocates by a count before the items
// are there. So the bytes of every message are first walked by the writer's schema, without allocation
// (scan.go), and only a message that is whole and within [Limits] reaches the library. What a codec writes is
// walked as well: it refuses to send what it would refuse to read.
package avro
