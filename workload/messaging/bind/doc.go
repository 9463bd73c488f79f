// Package bind carries messaging over each way to a message broker. Publishing and
// reading is package broker' with each broker; what is here makes one call of it.
package bind
