"""Helper package of the course: one folder per question a student asks."""
