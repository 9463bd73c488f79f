package consistency

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// The bounds of any figure that can have been measured. They are far above all real figures. Beyond them, sums and
// squares of figures would overflow.
const (
	mostFloat    = 1e18
	mostCount    = 1 << 53 // programs that read JSON cannot distinguish larger ones
	mostDuration = plan.Duration(10 * 365 * 24 * time.Hour)
)

// within checks that every figure of a result is within bounds, except in the plan, which has its own.
func (c *consistency) within(r *result.Result) {
	all := reflect.ValueOf(r).Elem()
	for i := range all.NumField() {
		if field := all.Type().Field(i); field.Name != "Plan" {
			c.bounded(jsonName(field), all.Field(i))
		}
	}
}

// bounded checks a value and everything in it.
func (c *consistency) bounded(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.bounded(path, v.Elem())
		}
	case reflect.Struct:
		if !v.CanInterface() || v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch name := jsonName(field); {
			case !field.IsExported() || name == "-":
			case field.Anonymous:
				c.bounded(path, v.Field(i))
			default:
				c.boundedField(path, name, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			return
		}
		for i := range v.Len() {
			c.bounded(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			c.boundedField(path, key.String(), v.MapIndex(key))
		}
	default:
		c.boundedNumber(path, v)
	}
}

// boundedField checks a member. It builds the member's path only if something in it needs one.
func (c *consistency) boundedField(path, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Map:
		c.bounded(path+"."+name, v)
	default:
		if beyond(v) {
			c.boundedNumber(path+"."+name, v)
		}
	}
}

func (c *consistency) boundedNumber(path string, v reflect.Value) {
	if beyond(v) {
		c.add(path, "%v: no measurement gives such a figure", v.Interface())
	}
}

// beyond reports whether a value is a number outside of all bounds.
func beyond(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return !(math.Abs(v.Float()) <= mostFloat) // also NaN
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(mostCount)
		if v.Type() == reflect.TypeFor[plan.Duration]() {
			most = int64(mostDuration)
		}
		return v.Int() > most || v.Int() < -most
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint() > mostCount
	}
	return false
}

// jsonName is the name of a field in JSON.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// spent checks that no time of a trial is below 0.
func (c *consistency) spent(path string, t *result.Trial) {
	c.notBelow(path+".warmed", t.Warmed)
	c.notBelow(path+".window", t.Window)
	c.notBelow(path+".drained", t.Drained)
	c.usage(path+".server", t.Server)
	c.usage(path+".driver", t.Driver)
	for name, used := range t.Parts {
		c.notBelow(path+".parts."+name, used)
	}
	if f := t.Floor; f != nil {
		c.notBelow(path+".floor.window", f.Window)
		c.notBelow(path+".floor.driver_cpu", f.DriverCPU)
		if f.Service.Count() > 0 && f.Window <= 0 {
			c.add(path+".floor.window", "%d calls in no time", f.Service.Count())
		}
	}
}

// usage checks what a process used. Others may be below 0: see [result.Usage].
func (c *consistency) usage(path string, u *result.Usage) {
	if u == nil {
		return
	}
	if u.Spun == 0 { // otherwise it is a difference of two clocks, and may be slightly below 0
		c.notBelow(path+".cpu", u.CPU)
	}
	c.notBelow(path+".wall", u.Wall)
	c.notBelow(path+".waited", u.Waited)
	c.notBelow(path+".pause_p99", u.PauseP99)
	c.notBelow(path+".spun", u.Spun)
}

func (c *consistency) notBelow(path string, d plan.Duration) {
	if d < 0 {
		c.add(path, "%v: no time is below 0", d)
	}
}

// noise checks the shares of a round. Pressure is below 0 if the kernel does not report it.
func (c *consistency) noise(path string, n *result.Noise) {
	for _, share := range []struct {
		name  string
		value float64
		least float64
	}{
		{"steal", n.Steal, 0},
		{"others", n.Others, 0},
		{"cpu_pressure", n.CPUPressure, -1},
		{"io_pressure", n.IOPressure, -1},
	} {
		// With clocks that are read one after the other, the whole may appear slightly larger.
		if share.value < share.least || share.value > 1.05 {
			c.add(path+"."+share.name, "%v: a share is 0 to 1", share.value)
		}
	}
}
