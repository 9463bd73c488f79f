package schema

import _ "embed" // for the texts of the schemas

// The Avro schemas. Amounts, and the times at which an event was due and sent, are longs. Other times are text, as
// in Protocol Buffers and JSON, instead of Avro's timestamp-micros: the encodings are compared on the same message,
// and a number here would spare only Avro the cost of writing and parsing a time. Text also represents "none"
// without a special instant.

//go:embed account_id.avsc
var accountID string

// AvroAccountID returns the Avro schema of a request for a balance.
func AvroAccountID() string { return accountID }

//go:embed account_ids.avsc
var accountIDs string

// AvroAccountIDs returns the Avro schema of a request for several balances.
func AvroAccountIDs() string { return accountIDs }

//go:embed balance.avsc
var balance string

// AvroBalance returns the Avro schema of a balance.
func AvroBalance() string { return balance }

//go:embed balances.avsc
var balances string

// AvroBalances returns the Avro schema of the balances of a batch, which refers to that
// of a balance.
func AvroBalances() string { return balances }

//go:embed page.avsc
var page string

// AvroPage returns the Avro schema of a request for a page.
func AvroPage() string { return page }

//go:embed posting.avsc
var posting string

// AvroPosting returns the Avro schema of a posting.
func AvroPosting() string { return posting }

//go:embed transaction.avsc
var transaction string

// AvroTransaction returns the Avro schema of a transaction.
func AvroTransaction() string { return transaction }

//go:embed transaction_list.avsc
var transactionList string

// AvroTransactionList returns the Avro schema of a page, which refers to that of a
// transaction.
func AvroTransactionList() string { return transactionList }

//go:embed feed.avsc
var feed string

// AvroFeed returns the Avro schema of a request for a stream.
func AvroFeed() string { return feed }

//go:embed event.avsc
var event string

// AvroEvent returns the Avro schema of a transaction in a stream.
func AvroEvent() string { return event }
