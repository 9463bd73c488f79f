package directory

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"wirelab"
)

// The sizes of the data sets that are drawn, in persons: the published size, and
// two more so that size is a factor.
const (
	smallSize  = 4
	mediumSize = 100
	largeSize  = 10_000
)

// dataSeed fixes the data sets. Its value means nothing; changing it changes
// every stored conversation.
const dataSeed = 20261121

// The data sets are made when they are first needed, the largest takes some
// milliseconds, and are never changed after: every service of the process
// reads the same.
var (
	small  = sync.OnceValue(func() *set { return draw(smallSize) })
	medium = sync.OnceValue(func() *set { return draw(mediumSize) })
	large  = sync.OnceValue(func() *set { return draw(largeSize) })
	origin = sync.OnceValue(publishedSet)
)

// New returns a reference service with the data set of four persons, the published size.
func New() Service { return over(small()) }

// Data returns the data sets, the default first.
func Data() []wirelab.Data[Service] {
	var all []wirelab.Data[Service]
	for _, made := range []struct {
		size int
		set  func() *set
	}{{smallSize, small}, {mediumSize, medium}, {largeSize, large}} {
		all = append(all, wirelab.Data[Service]{
			Name:       strconv.Itoa(made.size),
			New:        func() Service { return over(made.set()) },
			Operations: operations(made.size, made.set),
		})
	}
	return append(all, publishedData())
}

// set is a data set. It is never changed once it is made.
type set struct {
	persons []Person
	index   map[string]int // of persons, by id; a scan would cost more than a wire (mt-D04)
	links   [][2]int32     // pairs of indices: whole persons would be there many times (mt-D04)
	of      [][]int32      // for each person the indices of its links, in order
}

// linksOf returns the links of a person by its index.
func (s *set) linksOf(person int) PersonLinkList {
	of := s.of[person]
	l := PersonLinkList{Links: make([]PersonLink, len(of)), Count: int32(len(of))}
	for i, at := range of {
		l.Links[i] = PersonLink{P1: s.persons[s.links[at][0]], P2: s.persons[s.links[at][1]]}
	}
	return l
}

// draw makes the data set of n persons, n at least four. It is drawn, not
// copied, and begins with the persons and links of any smaller one, so that
// what the published requests ask for is the same in each.
//
// The first four have the published shape, and are others than the published
// persons (see [PublishedData]): the first has no picture, and the links are
// 1-2, 1-3, 2-3 and 4-1. The others each begin two links with others
// of theirs, so that a person there has four on average.
func draw(n int) *set {
	r := rand.New(rand.NewPCG(dataSeed, 0))
	s := &set{index: make(map[string]int, n), of: make([][]int32, n)}
	for i := range n {
		p := newPerson(r, i+1)
		if i == 0 || i >= smallSize && r.IntN(8) == 0 {
			p.Picture = nil
		}
		s.persons = append(s.persons, p)
		s.index[p.ID] = i
	}
	s.linkFour()
	r = rand.New(rand.NewPCG(dataSeed, uint64(n)))
	for i := int32(smallSize); int(i) < n; i++ {
		// Along a ring, both less than half of it: two different persons, neither
		// of them i, and neither linked to i by a link of its own.
		ring := int32(n - smallSize)
		near := 1 + r.Int32N(ring/4-1)
		far := ring/4 + r.Int32N(ring/4-1)
		for _, step := range []int32{near, far} {
			s.link([2]int32{i, smallSize + (i-smallSize+step)%ring})
		}
	}
	return s
}

// linkFour adds the published links among the first four.
func (s *set) linkFour() {
	for _, l := range [][2]int32{{0, 1}, {0, 2}, {1, 2}, {3, 0}} {
		s.link(l)
	}
}

// link adds a link between two indices.
func (s *set) link(l [2]int32) {
	at := int32(len(s.links))
	s.links = append(s.links, l)
	s.of[l[0]] = append(s.of[l[0]], at)
	s.of[l[1]] = append(s.of[l[1]], at)
}

// Newcomer returns a person as the published experiment creates, with id "5":
// without a picture, and with a city beyond ASCII. [PublishedNewcomer] is the
// published one.
func Newcomer() Person {
	p := newPerson(rand.New(rand.NewPCG(dataSeed, 5)), 5)
	p.Location.City = "Besançon"
	p.Picture = nil
	return p
}

// newPerson draws a person with a picture. Some texts hold characters outside
// ASCII, as people's do; addresses are in domains that nobody has.
func newPerson(r *rand.Rand, number int) Person {
	pick := func(words string) string {
		all := strings.Split(words, ",")
		return all[r.IntN(len(all))]
	}
	gender, title := "female", "ms"
	first := pick("agnès,beatriz,carla,dörte,eleni,fatima,grace,hanna,ida,jelena,kirsten," +
		"lærke,maría,noa,olga,petra,rosa,siân,teresa,zoë")
	if r.IntN(2) == 0 {
		gender, title = "male", "mr"
		first = pick("adrián,björn,carlos,daniel,émile,farid,georg,håkon,ivan,jonas,kofi," +
			"luís,marek,nils,oskar,pavel,rené,søren,tomáš,victor")
	}
	last := pick("álvarez,bauer,castro,dahl,ekström,fischer,garcía,hansen,ivanov,jensen," +
		"kowalski,lefèvre,müller,novák,olsen,pereira,quint,rossi,sørensen,weiß")
	picture := "https://pictures.example/portraits/" + gender + "/"
	file := strconv.Itoa(r.IntN(100)) + ".jpg"
	return Person{
		ID:     strconv.Itoa(number),
		Name:   PersonName{Title: title, First: first, Last: last},
		Gender: gender,
		Location: Location{
			Street: strconv.Itoa(1+r.IntN(9999)) + " " +
				pick("calle de la luna,rue du château,lindenstraße,harbour road,via dei mille,"+
					"avenida del sur,skolegade,station street"),
			City: pick("a coruña,besançon,cork,düsseldorf,exeter,florence,gijón,hillerød," +
				"İzmir,jerez,košice,lund,málaga,nantes,odense"),
			State:    pick("andalucía,baden-württemberg,bretagne,county down,galicia,jylland,north holland,tuscany"),
			PostCode: 10_000 + r.Int32N(90_000),
		},
		Email: fmt.Sprintf("%s.%s%d@example.com", plain(first), plain(last), r.IntN(100)),
		Picture: &Picture{
			Large: picture + "large/" + file, Medium: picture + "medium/" + file,
			Thumbnail: picture + "thumbnail/" + file,
		},
	}
}

// plain leaves out of a name what an address of e-mail would not hold.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if c > unicode.MaxASCII {
			return -1
		}
		return c
	}, name)
}
