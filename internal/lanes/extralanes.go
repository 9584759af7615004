package lanes

// maxExtraLanes limits the lanes of a [ExtraLanes]. A format needs one file or more for each of them.
const maxExtraLanes = 256

// ExtraLanes holds a writer for each lane except for the first lane of each resource. Formats with visits that nest
// write overlapping claims as visits on these lanes. W is the type of a writer. The zero value has no lanes.
type ExtraLanes[W any] struct {
	lanes map[uint32][]W // by location of the resource; the first one belongs to lane 1
	List  []ExtraLane[W] // in the order of their first use
}

// ExtraLane is a lane of a [ExtraLanes].
type ExtraLane[W any] struct {
	Resource uint32 // location of the resource
	Number   int    // from 1
	Writer   W      // the writer that Get has created for the lane
}

// Get returns the writer of a lane of a resource. It calls create for a lane that is used for the first time; i is the
// index of the lane in f.List. ok is false if there are too many lanes (256).
func (f *ExtraLanes[W]) Get(resource uint32, number int, create func(i int) (W, error)) (w W, ok bool, err error) {
	list := f.lanes[resource]
	if number <= len(list) {
		return list[number-1], true, nil
	}
	if len(f.List) >= maxExtraLanes {
		return w, false, nil
	}
	if w, err = create(len(f.List)); err != nil {
		return w, false, err
	}
	if f.lanes == nil {
		f.lanes = map[uint32][]W{}
	}
	f.lanes[resource] = append(list, w)
	f.List = append(f.List, ExtraLane[W]{resource, number, w})
	return w, true, nil
}
