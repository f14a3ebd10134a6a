//! The settings of a sweep as points of a grid, coarse first.

/// Points of an axis on the coarse grid, at most.
const COARSE: usize = 4;

/// Axes by their lengths; some have an order, along which neighbours are alike.
pub(super) struct Grid {
    axes: Vec<(usize, bool)>,
}

impl Grid {
    pub(super) fn new(axes: &[(usize, bool)]) -> Self {
        Self { axes: axes.to_vec() }
    }

    /// How many places there are.
    pub(super) fn total(&self) -> usize {
        self.axes.iter().map(|(length, _)| length).product()
    }

    /// Every place.
    pub(super) fn all(&self) -> Vec<Vec<usize>> {
        product(self.axes.iter().map(|(length, _)| (0..*length).collect()))
    }

    /// Few points of each axis with an order, its ends among them, and all of the others.
    pub(super) fn coarse(&self) -> Vec<Vec<usize>> {
        product(self.axes.iter().map(|(length, ordered)| match ordered {
            true => {
                let mut points: Vec<usize> = (0..*length).step_by(stride(*length)).collect();
                if points.last() != Some(&(length - 1)) {
                    points.push(length - 1);
                }
                points
            }
            false => (0..*length).collect(),
        }))
    }

    /// The first distance of neighbours of a point of the coarse grid.
    pub(super) fn distance(&self) -> usize {
        let strides = self.axes.iter().filter(|(_, ordered)| *ordered).map(|(length, _)| stride(*length));
        (strides.max().unwrap_or(1) / 2).max(1)
    }

    /// Places about `place`: in steps of `distance` along axes with an order, all of them at once
    /// if they are few. Axes without an order have no neighbourhood: of each, any other point is
    /// one.
    pub(super) fn around(&self, place: &[usize], distance: usize) -> Vec<Vec<usize>> {
        let moves = |axis: usize| {
            let ((length, ordered), at) = (self.axes[axis], place[axis]);
            match ordered {
                true => [at.checked_sub(distance), Some(at), Some(at + distance).filter(|to| *to < length)]
                    .into_iter()
                    .flatten()
                    .collect(),
                false => vec![at],
            }
        };
        let count = self.axes.len();
        let few = self.axes.iter().filter(|(_, ordered)| *ordered).count() <= 3;
        let mut places = match few {
            true => product((0..count).map(moves)),
            false => (0..count)
                .flat_map(|axis| moves(axis).into_iter().map(move |to| (axis, to)))
                .map(|(axis, to)| moved(place, axis, to))
                .collect(),
        };
        for (axis, (length, _)) in self.axes.iter().enumerate().filter(|(_, (_, ordered))| !ordered) {
            places.extend((0..*length).map(|to| moved(place, axis, to)));
        }
        places
    }
}

/// `place` with another point on one axis.
fn moved(place: &[usize], axis: usize, to: usize) -> Vec<usize> {
    let mut place = place.to_vec();
    place[axis] = to;
    place
}

/// The distance of points on the coarse grid: a power of two, so that it halves down to one.
fn stride(length: usize) -> usize {
    (length - 1).div_ceil(COARSE - 1).max(1).next_power_of_two()
}

fn product(axes: impl Iterator<Item = Vec<usize>>) -> Vec<Vec<usize>> {
    axes.fold(vec![Vec::new()], |places, points| {
        let longer = |place: &Vec<usize>| {
            let place = place.clone();
            points.iter().map(move |point| [place.as_slice(), &[*point]].concat()).collect::<Vec<_>>()
        };
        places.iter().flat_map(longer).collect()
    })
}
