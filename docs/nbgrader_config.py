"""nbgrader's settings for this course; docs/instructors.md says how to use them."""

c = get_config()  # noqa: F821  (nbgrader defines it)
c.CourseDirectory.course_id = "course"
c.CourseDirectory.db_url = "sqlite:///gradebook.db"
# A cell's limit, in seconds. A check stops an endless loop within seconds; this is for the training cells.
c.ExecutePreprocessor.timeout = 120
c.Execute.timeout = 120
# Bring back check cells that a student deleted.
c.OverwriteCells.add_missing_cells = True
# The committed notebook already is what students get: nothing is cleared, only locked and signed.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
]
