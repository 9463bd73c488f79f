package network_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/network"
)

// TestParse: settings are read as intended, and a path has one text.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		spec network.Spec
		is   string
	}{
		"rtt=40ms,jitter=2ms,loss=1%,bandwidth=1Gbit": {
			network.Spec{RTT: 40 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.01, Bandwidth: 1e9},
			"rtt=40ms,jitter=2ms,loss=1%,bandwidth=1Gbit",
		},
		"bandwidth=1Gbit,loss=1%,jitter=2ms,rtt=40ms": {
			network.Spec{RTT: 40 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.01, Bandwidth: 1e9},
			"rtt=40ms,jitter=2ms,loss=1%,bandwidth=1Gbit",
		},
		"lan":   {network.Spec{RTT: 500 * time.Microsecond}, "rtt=500us"},
		"cloud": {network.Spec{RTT: time.Millisecond, Bandwidth: 1e9}, "rtt=1ms,bandwidth=1Gbit"},
		"wan":   {network.Spec{RTT: 40 * time.Millisecond}, "rtt=40ms"},
		"mobile": {network.Spec{
			RTT: 70 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.005,
			Bandwidth: 12e6,
		}, "rtt=70ms,jitter=20ms,loss=0.5%,bandwidth=12Mbit"},
		"cloud,loss=0.1%": {
			network.Spec{RTT: time.Millisecond, Loss: 0.001, Bandwidth: 1e9},
			"rtt=1ms,loss=0.1%,bandwidth=1Gbit",
		},
		"wan,rtt=80ms,via=relay": {network.Spec{RTT: 80 * time.Millisecond}, "rtt=80ms"},
		"wan,via=netem":          {network.Spec{RTT: 40 * time.Millisecond, Via: network.Netem}, "rtt=40ms,via=netem"},
		"rtt=0":                  {network.Spec{}, "rtt=0s"},
		"rtt=1.5s":               {network.Spec{RTT: 1500 * time.Millisecond}, "rtt=1.5s"},
		"loss=0%":                {network.Spec{}, "rtt=0s"},
		"loss=0.000001%":         {network.Spec{Loss: 0.00000001}, "rtt=0s,loss=0.000001%"},
		"loss=50%":               {network.Spec{Loss: 0.5}, "rtt=0s,loss=50%"},
		"bandwidth=1.5Mbit/s":    {network.Spec{Bandwidth: 1_500_000}, "rtt=0s,bandwidth=1.5Mbit"},
		"bandwidth=1500kbit":     {network.Spec{Bandwidth: 1_500_000}, "rtt=0s,bandwidth=1.5Mbit"},
		"bandwidth=8kbit":        {network.Spec{Bandwidth: 8_000}, "rtt=0s,bandwidth=8kbit"},
		"bandwidth=100gbit":      {network.Spec{Bandwidth: 100e9}, "rtt=0s,bandwidth=100Gbit"},
		"rtt=1ms,jitter=1ms": {
			network.Spec{RTT: time.Millisecond, Jitter: time.Millisecond},
			"rtt=1ms,jitter=1ms",
		},
		"rtt=500us,jitter=0.25ms": {
			network.Spec{RTT: 500 * time.Microsecond, Jitter: 250 * time.Microsecond},
			"rtt=500us,jitter=250us",
		},
	} {
		got, err := network.Parse(text)
		if err != nil || got != want.spec {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want.spec)
		}
		if got.String() != want.is {
			t.Errorf("%s is written %s, want %s", text, got, want.is)
		}
	}
	for _, p := range network.Presets() {
		if got, err := network.Parse(p.Name); err != nil || got != p.Spec || got.PresetName() != p.Name ||
			p.About == "" {
			t.Errorf("preset %s: %+v, %v", p.Name, got, err)
		}
	}
	if name := (network.Spec{RTT: 41 * time.Millisecond}).PresetName(); name != "" {
		t.Errorf("no preset has 41ms, and it is called %s", name)
	}
}

// badSpecs are refused with a helpful message.
var badSpecs = map[string]string{
	"":                              "is not a setting; write rtt=40ms",
	"moon":                          `unknown network "moon"; known: cloud, lan, mobile, wan; or write settings`,
	"delay=4ms":                     `unknown setting "delay"; known: bandwidth, jitter, loss, rtt, via`,
	"rtt=4ms,rtt=5ms":               "sets rtt twice",
	"wan,rtt=4ms,rtt=4ms":           "sets rtt twice",
	"rtt=4ms,wan":                   `"wan" is not a setting`,
	"wan,cloud":                     `"cloud" is not a setting`,
	"rtt=":                          "is not a setting",
	"rtt=4ms,":                      "is not a setting",
	",rtt=4ms":                      "is not a setting",
	"rtt=40":                        "write a time with a unit: 500us, 40ms or 1.5s",
	"rtt=-1ms":                      "write a time with a unit",
	"rtt=1h":                        "write a time with a unit",
	"rtt=11s":                       "rtt is 11s; it must be 0 to 10s",
	"jitter=1ms":                    "jitter is 1ms; it must be 0 to the rtt, which is 0s",
	"rtt=1ms,jitter=2ms":            "no packet arrives before it was sent",
	"rtt=9999999999999999999s":      "write a time with a unit",
	"loss=1":                        "write a share of packets in per cent: 0.1% or 1%",
	"loss=0.01":                     "in per cent",
	"loss=51%":                      "loss is 51%; it must be 0% to 50%",
	"loss=-1%":                      "in per cent",
	"loss=NaN%":                     "in per cent",
	"loss=1e1%":                     "in per cent",
	"bandwidth=1000":                "write bits per second with a unit: 500kbit, 100Mbit or 1Gbit",
	"bandwidth=1Gb":                 "with a unit",
	"bandwidth=1GB":                 "with a unit",
	"bandwidth=0Mbit":               "it must be 8kbit to 100Gbit",
	"bandwidth=7kbit":               "it must be 8kbit to 100Gbit",
	"bandwidth=101Gbit":             "it must be 8kbit to 100Gbit",
	"via=pigeon":                    `unknown way to make a network (via) "pigeon"; known: netem, relay`,
	"rtt=4ms,LOSS=1%":               "unknown setting",
	"rtt=4ms loss=1%":               "write a time with a unit",
	"rtt=4ms;loss=1%":               "write a time with a unit",
	strings.Repeat("rtt=4ms,", 100): "longer than 200 characters",
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range badSpecs {
		_, err := network.Parse(text)
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q gives %v, want an error that says %q", text, err, want)
		}
	}
	for _, s := range []network.Spec{
		{Loss: math.NaN()},
		{Loss: -0.1},
		{Loss: math.Inf(1)},
		{RTT: -1},
		{Jitter: -1},
		{Bandwidth: -1},
		{Bandwidth: 1},
		{Via: "pigeon"},
	} {
		if s.Check() == nil {
			t.Errorf("%+v is taken for a path", s)
		}
	}
}

// FuzzParse: every text that is read is within bounds, and its path has a text that reads as the same path. A refused
// text has an error code.
func FuzzParse(f *testing.F) {
	for text := range badSpecs {
		f.Add(text)
	}
	for _, p := range network.Presets() {
		f.Add(p.Name + ",loss=0.25%")
		f.Add(p.Spec.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := network.Parse(text)
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument {
				t.Fatalf("%q: %v has the code %v", text, err, wirelab.CodeOf(err))
			}
			return
		}
		if err := s.Check(); err != nil {
			t.Fatalf("%q is read as a path that is none: %v", text, err)
		}
		again, err := network.Parse(s.String())
		if err != nil || again != s || again.String() != s.String() {
			t.Fatalf("%q is %+v, written %s, which is %+v, %v", text, s, s, again, err)
		}
	})
}

// Notes describe the parts of a path that are a model, and nothing else.
func TestNotes(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		tcp, udp bool
		says     []string
		not      []string
	}{
		"rtt=0":            {true, true, nil, []string{"model"}},
		"wan":              {true, false, []string{"windows are a model"}, []string{"loss on TCP"}},
		"wan,loss=1%":      {true, true, []string{"loss on TCP is a model", "datagrams are dropped"}, nil},
		"rtt=1ms,loss=1%":  {false, true, []string{"datagrams are dropped"}, []string{"model"}},
		"cloud":            {false, true, []string{"UDP is dropped"}, []string{"model"}},
		"mobile":           {true, true, []string{"keep their order"}, nil},
		"mobile,via=netem": {true, true, []string{"may change the order", "no offload"}, []string{"model"}},
	} {
		s, err := network.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(s.Notes(c.tcp, c.udp), "\n")
		for _, want := range c.says {
			if !strings.Contains(all, want) {
				t.Errorf("%s: the notes do not say %q:\n%s", text, want, all)
			}
		}
		for _, no := range c.not {
			if strings.Contains(all, no) {
				t.Errorf("%s: the notes say %q:\n%s", text, no, all)
			}
		}
	}
}
