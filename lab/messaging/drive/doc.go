// Package drive sends messages through a broker as an experiment's driver makes calls: on the engine's schedule.
// Readers take the messages, and an account tracks each one. The package also plays the scenarios: when readers
// start, which reader is killed, and which fault is requested. It knows brokers only by package broker. It injects no
// fault itself, but asks the fault server of the cluster (see [stage]).
//
// Every slice has its own topics, groups and account, so no run reads the messages of another (docs/origins.md
// hb-M06). A reader is registered before the first message is due (hb-M17). Messages that are acknowledged or read
// after the window count in no rate (hb-M02).
package drive
