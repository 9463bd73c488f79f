package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// KeyLeast is how many bytes a cluster's key has at least.
const KeyLeast = 16

// nonceBytes is what each end draws for a connection.
const nonceBytes = 32

// The two proofs of a connection differ, or one end could send the other's back.
const (
	proofDialled = "hermes peer key: the node that was dialled"
	proofDials   = "hermes peer key: the node that dials"
)

func newNonce() []byte {
	n := make([]byte, nonceBytes)
	_, _ = rand.Read(n) // it never fails: it ends the process where it would
	return n
}

// prove is the proof of one end, over all that both have said: dials is the hello of the one who dialled.
func prove(key []byte, whose string, dials *gen.Hello, dialled uint64, nonce []byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range [][]byte{[]byte(whose), []byte(dials.GetCluster()), dials.GetNonce(), nonce} {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	for _, n := range []uint64{dials.GetFrom(), dials.GetTo(), dialled, dials.GetBirth()} {
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], n)
		h.Write(number[:])
	}
	return h.Sum(nil)
}

// Errors of ends that have no key, or another.
var (
	errNoKey = status.Errorf(status.Unauthenticated,
		"this node asks for the key of the cluster: give all its nodes the same --peer-key-file")
	errOtherKey = status.Errorf(status.Unauthenticated,
		"the key of the cluster is another one here: give all its nodes the same --peer-key-file")
	errNoProof = status.Errorf(status.Unauthenticated,
		"the node there does not prove that it has the key of the cluster: give all its nodes the same --peer-key-file")
)

// challenge is the dialled end's part: it proves that it has the key, and asks the one who said hello for the same.
func (c *connection) challenge(o *Options, hello *gen.Hello) error {
	if len(hello.GetNonce()) != nonceBytes {
		return errNoKey
	}
	nonce := newNonce()
	if err := c.sendHello(&gen.Hello{
		Version: version, Cluster: hello.GetCluster(), From: o.ID, To: hello.GetFrom(),
		Nonce: nonce, Proof: prove(o.Key, proofDialled, hello, o.ID, nonce),
	}); err != nil {
		return err
	}
	answer, err := c.readHello()
	if err != nil {
		return err
	}
	if !hmac.Equal(answer.GetProof(), prove(o.Key, proofDials, hello, o.ID, nonce)) {
		return errOtherKey
	}
	return nil
}

// respond is the dialling end's part: it answers the challenge to its hello, and returns the next frame.
func (c *connection) respond(o *Options, hello, challenge *gen.Hello) (*gen.Hello, error) {
	nonce := challenge.GetNonce()
	if len(nonce) != nonceBytes ||
		!hmac.Equal(challenge.GetProof(), prove(o.Key, proofDialled, hello, challenge.GetFrom(),
			nonce)) {
		return nil, errNoProof
	}
	if err := c.sendHello(&gen.Hello{
		Version: version, Cluster: o.Cluster, From: hello.GetFrom(), To: challenge.GetFrom(),
		Proof: prove(o.Key, proofDials, hello, challenge.GetFrom(), nonce),
	}); err != nil {
		return nil, err
	}
	return c.readHello()
}
