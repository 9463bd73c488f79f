package bind

import (
	"sync"

	"wirelab"
	"wirelab/wire/avro"
	"wirelab/wire/codec"
	"wirelab/wire/httprpc"
	"wirelab/wire/rfc3339"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/schema"
)

// avroCodecs are the codecs of the ledger's messages in Avro. They are of the
// domain's own types where those fit the schemas (see package avro), and else
// of the objects that JSON has: what holds a time, which is text in both, and
// a batch, whose balances stand apart from its verdicts in every encoding.
type avroCodecs struct {
	id          avroMessage[ledger.AccountID]
	ids         avroMessage[ledger.AccountIDs]
	balance     avroMessage[ledger.Balance]
	balances    avroMessage[ledger.Balances]
	page        avroMessage[ledger.Page]
	list        avroMessage[ledger.TransactionList]
	posting     avroMessage[ledger.Posting]
	transaction avroMessage[ledger.Transaction]
	feed        avroMessage[ledger.Feed]
	event       avroMessage[ledger.Event]
}

// inAvro returns the codecs of the schemas as they are in the schema folder.
// They are made once: parsing the schemas takes longer than a call.
var inAvro = sync.OnceValue(func() *avroCodecs {
	balance, transaction := schema.AvroBalance(), schema.AvroTransaction()
	return &avroCodecs{
		id:          avroOf[ledger.AccountID](schema.AvroAccountID()),
		ids:         avroOf[ledger.AccountIDs](schema.AvroAccountIDs()),
		balance:     avroThrough(balanceToJSON, balanceFromJSON, balance),
		balances:    avroThrough(balancesToJSON, balancesFromJSON, balance, schema.AvroBalances()),
		page:        avroThrough(pageToJSON, pageFromJSON, schema.AvroPage()),
		list:        avroThrough(listToJSON, listFromJSON, transaction, schema.AvroTransactionList()),
		posting:     avroOf[ledger.Posting](schema.AvroPosting()),
		transaction: avroThrough(transactionToJSON, transactionFromJSON, transaction),
		feed:        avroThrough(feedToJSON, feedFromJSON, schema.AvroFeed()),
		event:       avroThrough(eventToAvro, eventFromAvro, schema.AvroEvent()),
	}
})

// avroMessage is how values of T are written in Avro, and read.
type avroMessage[T any] struct {
	codec.Form[T]
	encode func(T) ([]byte, error)
	schema *avro.Schema
}

// avroOf returns the message of T, by the last of the texts.
func avroOf[T any](texts ...string) avroMessage[T] {
	rows := avroCodec[T](texts)
	return avroMessage[T]{
		Form:   codec.Form[T]{Append: rows.Append, Decode: rows.Decode},
		encode: func(v T) ([]byte, error) { return rows.Encode(&v) },
		schema: rows.Schema(),
	}
}

// avroThrough is the message of T through the transfer object D, by the last of
// the texts. An object that can be none of T is as wrong as bytes that are none.
func avroThrough[T, D any](to func(T) D, from func(D) (T, error), texts ...string) avroMessage[T] {
	rows := avroCodec[D](texts)
	return avroMessage[T]{
		Form: codec.Form[T]{
			Append: func(dst []byte, v *T) ([]byte, error) {
				d := to(*v)
				return rows.Append(dst, &d)
			},
			Decode: func(message []byte) (v T, err error) {
				d, err := rows.Decode(message)
				if err != nil {
					return v, err
				}
				return from(d)
			},
		},
		encode: func(v T) ([]byte, error) {
			d := to(v)
			return rows.Encode(&d)
		},
		schema: rows.Schema(),
	}
}

// avroCodec returns the codec of T by the last of the texts. It panics where
// they do not fit each other: both are in this repository.
func avroCodec[T any](texts []string) *avro.Codec[T] {
	parsed, err := avro.Parse(texts...)
	if err != nil {
		panic(err)
	}
	rows, err := avro.New[T](avro.Limits{}, parsed)
	if err != nil {
		panic(err)
	}
	return rows
}

// http returns the message as plain HTTP takes it.
func (m avroMessage[T]) http() httprpc.Codec[T] {
	return httprpc.Codec[T]{Encoding: httprpc.Avro, Encode: m.encode, Decode: m.Decode}
}

// eventAvro is an event. Avro has no numbers without a sign.
type eventAvro struct {
	ID, From, To        string
	Amount              int64
	Type, Timestamp     string
	Sequence, Due, Sent int64
}

func eventToAvro(e ledger.Event) eventAvro {
	t := e.Transaction
	return eventAvro{
		ID: t.ID, From: t.From, To: t.To, Amount: t.Amount, Type: t.Type, Timestamp: rfc3339.Text(t.Timestamp),
		Sequence: int64(e.Sequence), Due: e.Due, Sent: e.Sent,
	}
}

func eventFromAvro(e eventAvro) (ledger.Event, error) {
	if e.Sequence < 0 {
		return ledger.Event{}, wirelab.Errorf(wirelab.InvalidArgument, "sequence %d is negative", e.Sequence)
	}
	at, err := rfc3339.Parse(e.Timestamp)
	return ledger.Event{
		Transaction: ledger.Transaction{
			ID: e.ID, From: e.From, To: e.To, Amount: e.Amount, Type: e.Type,
			Timestamp: at,
		},
		Stamp: wirelab.Stamp{Sequence: uint64(e.Sequence), Due: e.Due, Sent: e.Sent},
	}, err
}
