package loads

import (
	"wirelab/lab/plan"
)

// DrivenBy returns the arms once for each driver. Arms that name a driver appear once.
func DrivenBy(arms []plan.Arm, drivers []string) []plan.Arm {
	if len(drivers) == 0 {
		return arms
	}
	var all []plan.Arm
	for i, driver := range drivers {
		for _, arm := range arms {
			switch {
			case arm.Driver == "" && driver == plan.DriverClient:
				all = append(all, arm) // the default driver, which the arm's name does not mention
			case arm.Driver == "":
				arm.Driver = driver
				all = append(all, arm)
			case i == 0:
				all = append(all, arm)
			}
		}
	}
	return all
}
