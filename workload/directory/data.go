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

// The sizes of the drawn data sets, in persons: the published size, and two more that make size a factor.
const (
	smallSize  = 4
	mediumSize = 100
	largeSize  = 10_000
)

// dataSeed fixes the data sets. The value is arbitrary; changing it changes every stored conversation.
const dataSeed = 20261121

// The data sets are made when first needed, since the largest takes some milliseconds, and never changed
// afterwards: all services of the process share them.
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

// set is a data set. It is immutable.
type set struct {
	persons []Person
	index   map[string]int // of persons, by id; a scan would cost more than a wire (mt-D04)
	links   [][2]int32     // pairs of indexes: whole persons would be stored many times (mt-D04)
	of      [][]int32      // for each person the indexes of its links, in order
}

// linksOf returns the links of the person with an index.
func (s *set) linksOf(person int) PersonLinkList {
	of := s.of[person]
	l := PersonLinkList{Links: make([]PersonLink, len(of)), Count: int32(len(of))}
	for i, at := range of {
		l.Links[i] = PersonLink{P1: s.persons[s.links[at][0]], P2: s.persons[s.links[at][1]]}
	}
	return l
}

// draw makes the data set of n persons, n at least four. The set begins with the persons and links of any smaller
// one, so that the replies to the published requests are the same in each.
//
// The first four have the shape of the published persons, with other contents (see [PublishedData]): the first has
// no picture, and the links are 1-2, 1-3, 2-3 and 4-1. Each of the others begins two links with others of them, so
// that such a person has four on average.
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
		// The distances along the ring are less than half of it. This gives two different persons, neither of them
		// i, and neither linked to i by its own links.
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

// link adds a link between two indexes.
func (s *set) link(l [2]int32) {
	at := int32(len(s.links))
	s.links = append(s.links, l)
	s.of[l[0]] = append(s.of[l[0]], at)
	s.of[l[1]] = append(s.of[l[1]], at)
}

// Newcomer returns a person like the one that the published experiment creates: with id "5", without a picture, and
// with a city outside ASCII. [PublishedNewcomer] is the published one.
func Newcomer() Person {
	p := newPerson(rand.New(rand.NewPCG(dataSeed, 5)), 5)
	p.Location.City = "Besançon"
	p.Picture = nil
	return p
}

// newPerson draws a person with a picture. Some texts contain characters outside ASCII, as real ones do; the
// addresses are in domains that cannot exist.
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

// plain removes the characters of a name that an email address cannot contain.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if c > unicode.MaxASCII {
			return -1
		}
		return c
	}, name)
}
