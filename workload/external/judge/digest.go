package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// digestBytes are those of a reply's digest: enough that no two differ by chance alone.
const digestBytes = 16

// Digests are digests of the content of replies by the index of their request, for those who compare what two rounds,
// or two versions of a service, were measured against.
type Digests map[int]string

// Digests returns digests of the replies that others are compared with: of their status, and of the compared part
// of their body. Ignored parts do not count. It is empty if only status or form are compared.
func (j *Judge) Digests() Digests {
	all := Digests{}
	if j.rule.Mode == Schema || j.rule.Mode == Status {
		return all
	}
	w := &writer{ignore: j.ignore}
	for i := range j.kept {
		slot := j.kept[i].Load()
		if slot == nil {
			continue
		}
		for n := range slot {
			r := slot[n].Load()
			if r == nil {
				continue
			}
			kind, content := "b", r.body
			if form, ok := j.form(r.body, w); ok {
				kind, content = "j", form
			}
			hash := sha256.New()
			hash.Write([]byte(kind))
			if j.rule.Status == "" {
				hash.Write(strconv.AppendInt(nil, int64(r.status), 10))
			}
			hash.Write([]byte{0})
			hash.Write(content)
			all[i*chunk+n] = hex.EncodeToString(hash.Sum(nil)[:digestBytes])
		}
	}
	return all
}

// Sum is one digest of all: SHA-256 in hex.
func (d Digests) Sum() string {
	hash := sha256.New()
	for _, index := range slices.Sorted(maps.Keys(d)) {
		hash.Write(append(strconv.AppendInt(nil, int64(index), 10), ' '))
		hash.Write(append([]byte(d[index]), '\n'))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Differ returns the requests that both know and to which the replies differ, sorted. A round need not have made every
// request, so two whole sums may differ where no reply does.
func (d Digests) Differ(other Digests) []int {
	var all []int
	for index, sum := range d {
		if theirs, ok := other[index]; ok && theirs != sum {
			all = append(all, index)
		}
	}
	slices.Sort(all)
	return all
}
