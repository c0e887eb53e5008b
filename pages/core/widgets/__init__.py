"""What several pages draw: the answer to a click, export, comparison, occlusion, outcomes, predictions."""
