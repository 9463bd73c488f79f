// Package drive sends messages through a broker as an experiment's driver does
// calls: on the engine's schedule, while readers take them and an account is kept of
// each. It plays the scenarios: who reads when, what is killed, what is asked to be
// done to the broker. It knows any broker by package broker, and does nothing to one
// itself: it asks whoever started it, at the stage (see [stage]).
//
// Every slice has topics, groups and an account of its own, so that nothing of one
// run is read in another (docs/origins.md hb-M06). A reader is registered before the first
// message is due (hb-M17). What is acknowledged after a window, and what is read then,
// counts in no rate (hb-M02).
package drive
