package postgres

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"wirelab"
)

// Variable is the environment variable that a connection string is passed on in: a command line can be read by
// every caller on the host.
const Variable = "WIRELAB_DB"

// Address is what may be shown of a connection string.
type Address struct {
	Host     string // or the folder of a Unix socket
	Port     int
	Database string
	User     string
}

// String returns "host:port/database".
func (a Address) String() string {
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) + "/" + a.Database
}

// Parse reads a connection string: a URL such as
// postgres://user:password@host:5432/database, or words such as
// "host=127.0.0.1 dbname=ledger". What it leaves out comes from the variables
// and files that psql reads. The error says nothing of the string.
func Parse(dsn string) (Address, error) {
	config, err := parse(dsn)
	if err != nil {
		return Address{}, err
	}
	return addressOf(config), nil
}

func addressOf(config *pgx.ConnConfig) Address {
	return Address{Host: config.Host, Port: int(config.Port), Database: config.Database, User: config.User}
}

// Redact returns what may be shown of a connection string, and says so where
// it cannot be read.
func Redact(dsn string) string {
	a, err := Parse(dsn)
	if err != nil {
		return "(a connection string that cannot be read)"
	}
	return a.String()
}

func parse(dsn string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The library's text quotes the string, and hides passwords only where
		// it recognises them.
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the connection string cannot be read; want postgres://user:password@host:port/database, with other "+
				"characters "+
				"than A-Z a-z 0-9 - . _ ~ in the password as %%XX")
	}
	return config, nil
}

// dsn returns the connection string of a server of ours.
func dsn(host string, port int, password string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(owner, password),
		Host: fmt.Sprintf("%s:%d", host, port), Path: "/" + database,
		RawQuery: "sslmode=disable", // loopback, and a server without a certificate
	}
	return u.String()
}

// socketDSN is [dsn] over a Unix socket.
func socketDSN(folder string, port int, password string) string {
	q := url.Values{
		"host": {folder}, "port": {strconv.Itoa(port)}, "user": {owner}, "password": {password}, "sslmode": {"disable"},
	}
	// Only browsers' forms have a plus for a space.
	return "postgres:///" + database + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}
